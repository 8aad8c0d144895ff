/** Where the focus goes when the element that had it is removed. */

const main = (): HTMLElement | null => document.getElementById('main');

/** Nothing has the focus that a visitor would miss. */
export const isFocusLost = (): boolean =>
  document.activeElement === null ||
  document.activeElement === document.body ||
  document.activeElement === main();

export const focusMain = (): void => main()?.focus({ preventScroll: true });
