/** The line above the list: how many leads it has, how far a search is, and the way to leads that wait above. */
import type { JSX } from 'preact';
import { isPhone } from '../router.ts';
import { formatCount } from '../text.tsx';
import {
  day,
  filterText,
  hasMore,
  hiddenCount,
  isFull,
  loadedLeads,
  loading,
  loadMore,
  showAll,
  view,
} from './history.ts';
import { backTo, FULL_TEXT, LoadOlder, searchedText } from './loading.tsx';
import { resetRows } from './rows.ts';
import { isFiltered, shownLeads } from './selection.ts';

/** It keeps its height and its place, so that no row moves or is covered when something is added to it. */
export function ListLine(): JSX.Element | null {
  const isSearch = filterText.value.trim() !== '';
  const hasNew = hiddenCount.value > 0 && !day.value;
  if (!isSearch && loadedLeads.value.length === 0 && !hasNew) return null;
  return (
    <div class="list-line soft">
      {isSearch ? <SearchState /> : <Count />}
      {hasNew && (
        <button type="button" class="pill primary small" onClick={toTop}>
          <span aria-hidden="true">↑ </span>
          {hiddenCount} new
        </button>
      )}
    </div>
  );
}

/** `3 of `, if a status hides the others. */
const ofText = (shownCount: number, allCount: number): string =>
  shownCount < allCount ? `${shownCount.toLocaleString('en')} of ` : '';

function Count(): JSX.Element {
  const { length } = loadedLeads.value;
  return (
    // Not announced for every lead that arrives.
    <p class="loaded" role={isFiltered.value ? 'status' : undefined}>
      {ofText(shownLeads.value.length, length)}
      {formatCount(length, hasMore.value ? 'loaded lead' : 'lead')}
      {hasMore.value && backTo()}
    </p>
  );
}

/** What is found so far, and the button that stops or continues. */
function SearchState(): JSX.Element {
  // The text is searched for when no letter has followed for a moment.
  const isBegun = view.value?.text === filterText.value.trim();
  const isUnderWay = !isBegun || loading.value.kind !== 'idle';
  return (
    <>
      <p role="status">
        <span class="loaded">
          {formatCount(shownLeads.value.length)} found{isUnderWay && ' so far'}
        </span>{' '}
        <span>{searchedText()}</span>
      </p>
      {isBegun &&
        hasMore.value &&
        (isFull.value ? <p>{FULL_TEXT}</p> : <LoadOlder label="Search further back" onStart={loadMore} />)}
    </>
  );
}

function toTop(): void {
  showAll();
  resetRows();
  const list = document.querySelector('.rows');
  (isPhone.value ? document.documentElement : list)?.scrollTo({ top: 0 });
  // After the first rows are back.
  requestAnimationFrame(() => list?.querySelector('a')?.focus({ preventScroll: true }));
}
