/* The theme that the visitor chose, here or in the console: `system`, `light` or `dark`. Storage may be blocked. */
(() => {
  const KEY = 'leadtap-theme';
  const SIGNS = { system: '◐', light: '☀', dark: '☾' };
  const THEMES = Object.keys(SIGNS);
  const root = document.documentElement;
  let theme = 'system';
  try {
    const stored = localStorage.getItem(KEY);
    if (THEMES.includes(stored)) theme = stored;
  } catch {}
  root.dataset.theme = theme;
  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => {
      root.dataset.theme = theme;
      button.firstElementChild.textContent = SIGNS[theme];
      button.title = `Colours: ${theme}`;
      button.setAttribute('aria-label', `Colours: ${theme}. Switch.`);
    };
    button.addEventListener('click', () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try {
        if (theme === 'system') localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, theme);
      } catch {}
      show();
    });
    show();
    button.hidden = false;
  });
})();
