"use strict";
const slider = document.getElementById("slider");
if (slider) {
  const steps = [...document.querySelectorAll(".step")];
  const show = () => steps.forEach((step, k) => { step.hidden = k !== Number(slider.value); });
  slider.hidden = false;
  slider.addEventListener("input", show);
  show();
}
const stored = document.getElementById("egraphs");
if (stored) {
  const graphs = JSON.parse(stored.textContent);
  const place = document.getElementById("graph"), choice = document.getElementById("statement");
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const start = async () => {
    const style = document.createElement("style");
    style.textContent = "@scope (#graph) {" + (await unpacked("viewer-style")) + "}";
    document.head.append(style);
    const code = new Blob([await unpacked("viewer")], { type: "text/javascript" });
    const { mount } = await import(URL.createObjectURL(code));
    const viewer = mount(place);
    const show = () => viewer.render([JSON.stringify(graphs[choice.value])]);
    choice.addEventListener("change", show);
    show();
    place.dataset.ready = "yes";
  };
  start().catch((error) => { place.textContent = "The viewer needs a newer browser: " + error; });
}
