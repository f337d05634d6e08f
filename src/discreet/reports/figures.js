// A hundred figures in a box that fill from belief before to belief after: as many as `before` are
// marked one way, those up to `after` another way, one after the other.
globalThis.figures = (box, before, after) => {
  if (box.children.length !== 100) {
    box.replaceChildren(...Array.from({ length: 100 }, () => document.createElement("i")));
  }
  [...box.children].forEach((one, place) => {
    const kind = place < before ? "before" : place < after ? "after" : "";
    one.style.transitionDelay = `${kind === "after" ? 12 * (place - before) : 0}ms`;
    if (one.className !== kind) one.className = kind;
  });
};
