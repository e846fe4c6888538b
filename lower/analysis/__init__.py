"""What holds of indices, values and statements: linear forms, ranges, flow, cycles; what forms may take and cost."""
