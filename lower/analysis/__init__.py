"""What holds of indices, values and statements, exactly: linear forms, ranges, flow, cycles. Knows no plan."""
