// Touch gestures on a message: long press for its actions, swipe for its other branches.

const LONG_PRESS_MS = 480;
/** Movement in pixels that a long press tolerates, and that a swipe needs. */
const TOLERANCE = 10;
const SWIPE_DISTANCE = 60;

/** The finger of a long press is lifted over the menu that it opened: that presses nothing. */
function swallowClick() {
  const swallow = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  const options = { capture: true, once: true };
  document.addEventListener("click", swallow, options);
  document.addEventListener("pointerdown", () => document.removeEventListener("click", swallow, options), options);
}

/** The callbacks get the element of the message. The context menu key counts as a long press. */
export function watchGestures(root, { hold, swipe, canSwipe }) {
  let touch = null;
  const cancel = () => {
    if (!touch) return;
    clearTimeout(touch.timer);
    touch.node.classList.remove("swiping");
    touch.node.style.transform = "";
    touch = null;
  };

  const press = () => {
    if (!touch || touch.held) return;
    clearTimeout(touch.timer);
    touch.held = true;
    navigator.vibrate?.(12);
    swallowClick();
    hold(touch.node);
  };

  root.addEventListener("contextmenu", (event) => {
    const node = event.target.closest(".message");
    // Links, inputs and selected text keep the context menu of the browser.
    if (!node || event.target.closest("a, input, textarea")) return;
    if (!touch && !getSelection().isCollapsed) return;
    event.preventDefault();
    // The browser may detect the long press before the timer.
    if (touch) return press();
    if (event.pointerType === "touch") swallowClick();
    hold(node);
  });

  root.addEventListener("pointerdown", (event) => {
    const node = event.target.closest(".message");
    if (event.pointerType === "mouse" || !node || event.target.closest("button, a, pre, .diff, .table")) return;
    cancel();
    touch = { node, x: event.clientX, y: event.clientY, held: false, sideways: false };
    touch.timer = setTimeout(press, LONG_PRESS_MS);
  });

  root.addEventListener("pointermove", (event) => {
    if (!touch || touch.held) return;
    const [x, y] = [event.clientX - touch.x, event.clientY - touch.y];
    if (Math.abs(x) > TOLERANCE || Math.abs(y) > TOLERANCE) clearTimeout(touch.timer);
    if (!touch.sideways && Math.abs(y) > Math.abs(x) && Math.abs(y) > TOLERANCE) return cancel();
    const found = canSwipe(touch.node);
    if (!found || Math.abs(x) < TOLERANCE) return;
    touch.sideways = true;
    touch.direction = x < 0 ? 1 : -1;
    const there = touch.direction < 0 ? found.before : found.after;
    touch.go = there && Math.abs(x) > SWIPE_DISTANCE;
    touch.node.classList.add("swiping");
    touch.node.style.transform = `translateX(${there ? Math.max(-90, Math.min(90, x)) : x / 6}px)`;
  });

  root.addEventListener("pointerup", () => {
    const done = touch;
    cancel();
    if (done?.go) swipe(done.node, done.direction);
  });
  root.addEventListener("pointercancel", cancel);
}
