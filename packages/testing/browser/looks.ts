export type Theme = 'light' | 'dark';
export type Screen = 'phone' | 'desktop';

export const THEMES: readonly Theme[] = ['light', 'dark'];
export const VIEWPORTS: Readonly<Record<Screen, { width: number; height: number }>> = {
  phone: { width: 360, height: 740 },
  desktop: { width: 1280, height: 800 },
};

export interface Look {
  readonly screen: Screen;
  readonly theme: Theme;
}

/** Every look of a page, for `it.each(LOOKS)('… ($screen, $theme)', …)`. */
export const LOOKS: readonly Look[] = [
  { screen: 'phone', theme: 'light' },
  { screen: 'phone', theme: 'dark' },
  { screen: 'desktop', theme: 'light' },
  { screen: 'desktop', theme: 'dark' },
];
