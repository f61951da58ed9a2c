// Sets the theme before the first paint. A classic script in a file of its own: the policy of contents permits no inline one.
(() => {
  const choices = ["system", "light", "dark"];
  const stored = () => {
    try {
      return localStorage.getItem("foretell-theme");
    } catch {
      return null; // storage is switched off
    }
  };
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  let current = choices.includes(stored()) ? stored() : "system";
  apply(current);
  window.foretellTheme = {
    get current() {
      return current;
    },
    next() {
      current = choices[(choices.indexOf(current) + 1) % choices.length];
      apply(current);
      try {
        localStorage.setItem("foretell-theme", current);
      } catch {
        // The choice holds until the page is closed.
      }
      return current;
    },
  };
})();
