"use strict";
(() => {
  const root = document.documentElement;
  const $ = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  root.classList.add("js");

  // The tree: every article names the one it hangs on.
  const articles = all("article");
  if (articles.length > 300) root.classList.add("big");
  const nodes = new Map(articles.map((item) => [item.dataset.n, { item, up: item.dataset.p, newest: null }]));
  for (const [number, node] of nodes) {
    const above = nodes.get(node.up);
    if (above) above.newest = number;
  }
  const links = new Map();
  for (const link of all(".tree a")) links.set(link.hash.slice(1), link);

  const byHash = () => {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return null; }
    const item = name && document.getElementById(name);
    return item instanceof HTMLElement && item.matches("article") ? item : null;
  };

  // Shows the branch that contains an article, up to its newest entry.
  const show = (item) => {
    let leaf = item.dataset.n;
    for (let next = leaf; next !== null && next !== undefined; next = nodes.get(next).newest) leaf = next;
    const path = new Set();
    for (let next = leaf; nodes.has(next); next = nodes.get(next).up) path.add(next);
    for (const [number, node] of nodes) {
      const off = !path.has(number);
      node.item.classList.toggle("off", off);
      const link = links.get(node.item.id);
      if (link) link.classList.toggle("on", !off);
    }
  };
  const follow = () => {
    const item = byHash();
    if (!item) return;
    if (item.classList.contains("off")) show(item);
    item.scrollIntoView();
    mark(item);
    root.classList.remove("list");
  };

  // Which part of the list is being read.
  let current = null;
  const mark = (item) => {
    const link = links.get(item.id);
    if (!link || link === current) return;
    if (current) current.removeAttribute("aria-current");
    current = link;
    link.setAttribute("aria-current", "true");
    link.scrollIntoView({ block: "nearest" });
  };
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) mark(entry.target);
    }, { rootMargin: "-10% 0px -75% 0px" });
    for (const item of articles) if (links.has(item.id)) seen.observe(item);
  }

  // Buttons.
  const bar = $(".tools");
  const button = (text, title, act, kind = "") => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = title;
    made.className = kind;
    made.addEventListener("click", () => act(made));
    return made;
  };
  const stored = (name, value) => {
    try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; }
  };
  const dark = () => getComputedStyle(root).colorScheme === "dark";
  const theme = () => { root.dataset.theme = dark() ? "light" : "dark"; stored("osier-theme", root.dataset.theme); };
  const remembered = stored("osier-theme");
  if (!root.dataset.first && (remembered === "dark" || remembered === "light")) root.dataset.theme = remembered;
  const fold = (made) => {
    const open = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(open));
    for (const item of all("article:not(.off) details")) item.open = open;
  };
  const think = (made) => made.setAttribute("aria-pressed", String(root.classList.toggle("nothink")));
  const list = () => root.classList.toggle(matchMedia("(max-width:60rem)").matches ? "list" : "bare");
  bar.append(
    button("☰", "prompts and branches (l)", list),
    button("⊞ all", "unfold everything (o)", fold, "wide"),
    button("thinking", "hide what was thought", think, "wide"),
    button("◐", "light or dark (t)", theme),
  );

  const copy = async (text, made) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    made.textContent = "copied";
    setTimeout(() => { made.textContent = "copy"; }, 1200);
  };
  for (const block of all(".code")) {
    block.append(button("copy", "copy this block", (made) => copy($("pre", block).textContent, made), "copy"));
  }
  for (const link of all(".here")) {
    link.hidden = false;
    link.href = "#" + link.closest("article").id;
    link.title = "link to this place";
  }

  // Keys: from prompt to prompt, between branches.
  const step = (down) => {
    const prompts = all("article.user:not(.off)");
    const line = 90;
    const tops = prompts.map((item) => item.getBoundingClientRect().top);
    const at = down ? tops.findIndex((top) => top > line) : tops.findLastIndex((top) => top < line - 30);
    if (at >= 0) prompts[at].scrollIntoView();
  };
  const branch = (name) => {
    const ways = all(`article:not(.off) .beside a[aria-label="${name} branch"]`);
    const near = ways.find((way) => way.getBoundingClientRect().bottom > 0) || ways.at(-1);
    if (near) near.click();
  };
  const keys = {
    j: () => step(true), k: () => step(false), "[": () => branch("previous"), "]": () => branch("next"),
    t: theme, l: list, o: () => bar.children[1].click(), Escape: () => root.classList.remove("list"),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  addEventListener("click", (event) => {
    if (root.classList.contains("list") && !event.target.closest(".side,.tools")) root.classList.remove("list");
    const link = event.target.closest('a[href^="#"]');
    // A click on the current link does not change the address.
    if (link && link.hash === location.hash) follow();
  });
  addEventListener("hashchange", follow);
  follow();
})();
