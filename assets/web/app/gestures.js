// What fingers do on a message: hold it for its actions, swipe it sideways for its siblings.

const HOLD = 480;
/** Pixels a finger may stray while it holds, and must go to swipe. */
const STRAY = 10;
const SWIPE = 60;

/** `hold(node)`, `swipe(node, way)`, `canSwipe(node)` get the message's element; the menu key counts as holding. */
export function watchGestures(root, { hold, swipe, canSwipe }) {
  let touch = null;
  const drop = () => {
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
    hold(touch.node);
  };

  root.addEventListener("contextmenu", (event) => {
    const node = event.target.closest(".message");
    // Links, fields and selected text keep the browser's menu.
    if (!node || event.target.closest("a, input, textarea")) return;
    if (!touch && !getSelection().isCollapsed) return;
    event.preventDefault();
    // The browser may find before the clock that a finger holds.
    if (touch) press();
    else hold(node);
  });

  root.addEventListener("pointerdown", (event) => {
    const node = event.target.closest(".message");
    if (event.pointerType === "mouse" || !node || event.target.closest("button, a, pre, .diff, .table")) return;
    drop();
    touch = { node, x: event.clientX, y: event.clientY, held: false, sideways: false };
    touch.timer = setTimeout(press, HOLD);
  });

  root.addEventListener("pointermove", (event) => {
    if (!touch || touch.held) return;
    const [x, y] = [event.clientX - touch.x, event.clientY - touch.y];
    if (Math.abs(x) > STRAY || Math.abs(y) > STRAY) clearTimeout(touch.timer);
    if (!touch.sideways && Math.abs(y) > Math.abs(x) && Math.abs(y) > STRAY) return drop();
    const found = canSwipe(touch.node);
    if (!found || Math.abs(x) < STRAY) return;
    touch.sideways = true;
    touch.way = x < 0 ? 1 : -1;
    const there = touch.way < 0 ? found.before : found.after;
    touch.go = there && Math.abs(x) > SWIPE;
    touch.node.classList.add("swiping");
    touch.node.style.transform = `translateX(${there ? Math.max(-90, Math.min(90, x)) : x / 6}px)`;
  });

  root.addEventListener("pointerup", () => {
    const done = touch;
    drop();
    if (done?.go) swipe(done.node, done.way);
  });
  root.addEventListener("pointercancel", drop);
}
