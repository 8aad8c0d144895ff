/** The fragment of the address is the place in the page: `#leads`, or `#leads/ID@TIME` with a lead opened. */
import { signal } from '@preact/signals';

export interface Place {
  readonly tab: string;
  /** What the tab has open; empty for nothing. */
  readonly item: string;
}

function placeOf(hash: string): Place {
  const [, tab = '', item = ''] = /^#([a-z]+)(?:\/(.*))?$/.exec(hash) ?? [];
  try {
    return { tab, item: decodeURIComponent(item) };
  } catch {
    return { tab, item: '' };
  }
}

export const place = signal<Place>(placeOf(location.hash));

addEventListener('popstate', () => {
  place.value = placeOf(location.hash);
});

/** These need not be encoded in a fragment. */
const encode = (item: string): string =>
  encodeURIComponent(item).replace(/%(?:2F|3A|3D|3F|40)/g, decodeURIComponent);

export const hrefOf = (tab: string, item = ''): string => `#${tab}${item === '' ? '' : `/${encode(item)}`}`;

/** Opens a place. With `replace`, the back button does not return to the one before. */
export function open(tab: string, item = '', how: 'push' | 'replace' = 'push'): void {
  const { value } = place;
  if (value.tab === tab && value.item === item) return;
  if (how === 'replace') history.replaceState(history.state, '', hrefOf(tab, item));
  else
    history.pushState(
      { ...history.state, isFromTab: value.tab === tab && value.item === '' },
      '',
      hrefOf(tab, item),
    );
  place.value = { tab, item };
}

/** Leaves an opened item. If it was opened from the tab itself, as the back button of the browser does. */
export function close(): void {
  const state: { readonly isFromTab?: boolean } | null = history.state;
  if (state?.isFromTab) history.back();
  else open(place.value.tab, '', 'replace');
}

const phone = matchMedia('(max-width: 47.999rem)');
/** Whether the screen has room for one column only. */
export const isPhone = signal(phone.matches);
phone.addEventListener('change', ({ matches }) => {
  isPhone.value = matches;
});
