// The page shows what the server says. Nothing here decides; without it the page can still be read.
"use strict";
(() => {
  const entered = document.querySelector('meta[name="signoff-key"]');
  if (entered) {
    localStorage.setItem("signoff-key", entered.content);
    location.replace("/");
    return;
  }
  const main = () => document.getElementById("main");
  const live = document.getElementById("live");

  // Only what differs is touched: focus, scrolling, open details and typed words stay.
  const named = (node) => (node.nodeType === 1 && node.id) || "";
  function patch(old, now) {
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || named(old) !== named(now)) {
      old.replaceWith(now);
      return;
    }
    if (old.nodeType !== 1) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    for (const { name, value } of [...now.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!now.hasAttribute(name) && !(old.nodeName === "DETAILS" && name === "open")) old.removeAttribute(name);
    }
    if (old.nodeName === "TEXTAREA") return;
    if (old.type === "hidden") old.value = now.value;
    const known = new Map([...old.children].filter(named).map((child) => [child.id, child]));
    let at = old.firstChild;
    for (const child of [...now.childNodes]) {
      const same = known.get(named(child));
      if (same && same !== at) old.insertBefore(same, at), (at = same);
      if (!at || (named(at) && known.has(at.id) && !same)) {
        old.insertBefore(child, at);
        continue;
      }
      const next = at.nextSibling;
      patch(at, child);
      at = next;
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  function show(text) {
    const now = new DOMParser().parseFromString(text, "text/html");
    if (!now.getElementById("main")) return;
    document.title = now.title;
    document.body.dataset.seq = now.body.dataset.seq || "";
    if (now.body.dataset.plan !== undefined) document.body.dataset.plan = now.body.dataset.plan;
    patch(document.querySelector("nav"), now.querySelector("nav"));
    patch(main(), now.getElementById("main"));
    times();
  }

  let busy = false, again = false, settled = true;
  async function refresh() {
    if (!settled) return;
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (settled) show(text);
    } catch { /* the stream says that the server is gone */ }
    busy = false;
    if (again) { again = false; refresh(); }
  }

  let stream = null, last = "";
  function listen() {
    if (stream) stream.close();
    const { plan, seq } = document.body.dataset;
    stream = new EventSource(`/events?plan=${encodeURIComponent(plan)}&since=${last || seq}`);
    stream.onopen = () => tell("live", "on");
    stream.onerror = () => {
      const over = stream.readyState === EventSource.CLOSED;
      tell(over ? "ended: open the printed address" : "reconnecting", "off");
    };
    stream.addEventListener("moved", (event) => { last = event.lastEventId; refresh(); });
  }
  function tell(word, how) {
    live.textContent = word;
    live.className = `live ${how}`;
  }

  function times() {
    const units = [[86400, "d"], [3600, "h"], [60, "min"]];
    for (const time of document.querySelectorAll("time")) {
      const s = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000);
      const [size, unit] = units.find(([most]) => s >= most) || [1, "s"];
      time.title = time.dateTime.slice(0, 19).replace("T", " ") + " UTC";
      if (!time.closest(".entries, .facts")) time.textContent = s < 60 ? "just now" : `${Math.floor(s / size)} ${unit} ago`;
    }
  }

  async function go(url, push = true) {
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    if (push) history.pushState(null, "", url);
    settled = true;
    const plan = document.body.dataset.plan;
    show(await answer.text());
    if (plan !== document.body.dataset.plan) { last = ""; listen(); }
    const place = new URL(url, location.href).hash;
    if (place && matchMedia("(max-width: 760px)").matches) document.querySelector(place)?.scrollIntoView();
    else if (!place && push) scrollTo(0, 0);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='/']");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(link.href).then(() => { if (!document.contains(document.activeElement)) main().focus(); });
  });
  addEventListener("popstate", () => go(location.href, false));

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.post) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter || undefined));
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    settled = false;  // what comes back stays until somebody goes on
    try {
      const answer = await fetch(form.dataset.post, {
        method: "POST", body, headers: { "X-Signoff-Key": localStorage.getItem("signoff-key") || "" },
      });
      const text = await answer.text();
      if (!text.includes('id="main"')) throw new Error(text);
      show(text);
      scrollTo(0, 0);
      main().focus();
    } catch (error) {
      settled = true;
      document.getElementById("said").textContent = `Nothing was sent: ${error.message}`;
      for (const button of form.querySelectorAll("button")) button.disabled = false;
    }
  });

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
  function step(by) {
    const all = rows(), at = all.indexOf(document.activeElement);
    const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (next) next.focus(), next.scrollIntoView({ block: "nearest" });
  }
  function button(wanted) {
    const near = document.activeElement?.closest(".ask") || document;
    const found = near.querySelector(wanted) || document.querySelector(wanted);
    if (found) found.focus(), found.scrollIntoView({ block: "center" });
  }
  const help = document.getElementById("help");
  const keys = {
    j: () => step(1), k: () => step(-1), a: () => button(".answer button"),
    r: () => button('.answer button[value="retry"]'), "?": () => (help.open ? help.close() : help.showModal()),
  };
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.nodeName);
    if (typing || event.metaKey || event.ctrlKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  times();
  setInterval(times, 30000);
  listen();
})();
