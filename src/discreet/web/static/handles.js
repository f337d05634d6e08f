// Handles on a chart: sliders that are dragged, or moved by the keyboard. Where a value stands in
// pixels is all that is known here; what it means is asked of the server through `send`.

const FARTHER = 600;

// `stage` holds the handles, `picture` the drawing under them.
export function rack(stage, picture, send) {
  const sliders = new Map();
  let view = null;
  let latest = [];  // the handles that were asked for last
  let dragged = null;
  let taken = null;  // where a handle stood when the hand took it
  let owed = 0;  // steps of the keyboard that were not sent yet
  let farther = 0;  // ticks while the hand is beyond the end of an axis

  function pixels() {
    const drawing = picture.querySelector("svg");
    if (!view || !drawing) return null;
    const box = drawing.getBoundingClientRect();
    const frame = stage.getBoundingClientRect();
    const shrunk = box.width / drawing.viewBox.baseVal.width;
    if (!(shrunk > 0 && shrunk < Infinity)) return null;  // it is just being drawn
    const [right, down] = view.origin();
    const edge = view.padding();
    return {
      x: view.scale("x"), y: view.scale("y"), shrunk,
      left: box.left - frame.left + (edge.left + right) * shrunk,
      top: box.top - frame.top + (edge.top + down) * shrunk,
    };
  }

  function put(element, at, x, y) {
    element.style.left = `${at.left + at.x(x) * at.shrunk}px`;
    element.style.top = `${at.top + at.y(y) * at.shrunk}px`;
  }

  // Put the handles where they belong; without a list, those that were asked for last.
  function placed(list, drawn) {
    if (drawn && drawn !== view) {
      view = drawn;
      // A chart that fills its column is drawn anew when the column changes, a moment later.
      view.addResizeListener(() => window.requestAnimationFrame(() => placed()));
    }
    latest = list || latest;
    const at = pixels();
    if (!at) return;
    const names = new Set(latest.map((item) => item.name));
    for (const [name, slider] of sliders) {
      if (!names.has(name)) { slider.element.remove(); sliders.delete(name); }
    }
    for (const item of latest) {
      const slider = sliders.get(item.name) || made(item);
      slider.item = item;
      const { element } = slider;
      element.setAttribute("aria-label", item.label);
      element.setAttribute("aria-orientation", item.along === "up" ? "vertical" : "horizontal");
      element.setAttribute("aria-valuemin", item.low);
      element.setAttribute("aria-valuemax", item.high);
      element.setAttribute("aria-valuenow", item.value);
      element.setAttribute("aria-valuetext", item.text);
      for (const way of ["across", "up", "diagonal"]) {
        element.classList.toggle(way, way === item.along);
      }
      if (dragged !== item.name) put(element, at, item.x, item.y);  // else it is where the hand is
    }
  }

  // Where the hand is, on the way that a handle moves.
  function reached(event, item, at) {
    const frame = stage.getBoundingClientRect();
    const within = (scale, pixel) => {
      const [one, other] = scale.range();
      return scale.invert(Math.min(Math.max(pixel, Math.min(one, other)), Math.max(one, other)));
    };
    const x = within(at.x, (event.clientX - frame.left - at.left) / at.shrunk);
    const y = within(at.y, (event.clientY - frame.top - at.top) / at.shrunk);
    if (item.along === "across") return [x, taken.y];
    if (item.along === "up") return [taken.x, y];
    return [(x + y) / 2, (x + y) / 2];
  }

  // Whether the hand is beyond the far end of the axis that a handle moves along.
  function beyond(event, item, at) {
    const frame = stage.getBoundingClientRect();
    const [, right] = at.x.range();
    const [, top] = at.y.range();
    if (item.along === "across") return (event.clientX - frame.left - at.left) / at.shrunk > right;
    return item.along === "up" && (event.clientY - frame.top - at.top) / at.shrunk < top;
  }

  function made(item) {
    const element = document.createElement("div");
    element.className = "handle";
    element.tabIndex = 0;
    element.setAttribute("role", "slider");
    const slider = { element, item };
    sliders.set(item.name, slider);
    stage.append(element);

    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      element.focus();
      dragged = slider.item.name;
      taken = slider.item;
      event.preventDefault();
    });
    element.addEventListener("pointermove", (event) => {
      if (dragged !== slider.item.name) return;
      const move = (more) => {
        const at = pixels();
        if (!at) return;
        const [x, y] = reached(event, slider.item, at);
        put(element, at, x, y);
        send({ handle: slider.item.name, x, y, ...more });
      };
      move({});
      // Beyond the end, the axis reaches farther and farther, slowly enough to let go in time.
      window.clearInterval(farther);
      const at = pixels();
      if (at && beyond(event, slider.item, at)) {
        farther = window.setInterval(() => move({ farther: true }), FARTHER);
      }
    });
    const dropped = () => {
      if (dragged !== slider.item.name) return;
      window.clearInterval(farther);
      dragged = null;
      send({});
    };
    element.addEventListener("pointerup", dropped);
    element.addEventListener("pointercancel", dropped);
    element.addEventListener("keydown", (event) => {
      const steps = {
        ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1,
        PageUp: 10, PageDown: -10, Home: -1000, End: 1000,
      }[event.key];
      if (steps === undefined) return;
      event.preventDefault();
      owed += steps;
      send({
        handle: slider.item.name,
        steps: () => { const all = owed; owed = 0; return all; },
      });
    });
    return slider;
  }

  window.addEventListener("resize", () => placed());
  return { placed };
}
