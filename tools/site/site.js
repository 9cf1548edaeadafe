/* What the theme leaves out for keyboards and screen readers: it adds these elements by script, so they are changed here. */
function complete() {
  for (const nav of document.querySelectorAll(".md-code__nav, .md-nav--secondary .md-nav")) {
    nav.removeAttribute("aria-label");
    nav.setAttribute("role", "none"); // not a landmark
  }
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) wide.tabIndex = 0; // scrolls with arrow keys
}

complete();
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
