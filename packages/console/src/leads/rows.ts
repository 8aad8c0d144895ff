/** Which rows of the list are in the page: some blocks of them, because thousands of rows would take seconds after a filter. */
import { signal } from '@preact/signals';
import { shownLeads } from './selection.ts';

export const BLOCK_ROWS = 100;
const MAX_ROWS = 3 * BLOCK_ROWS;
/** Of a block that was never measured: a row has about 54 pixels. */
const BLOCK_PX = 54 * BLOCK_ROWS;
const NEAR_PX = 800;

/** From the index of the first row up to that after the last one. */
export const rendered = signal({ first: 0, end: BLOCK_ROWS });

/** The heights of the blocks that were removed above. */
let heights: number[] = [];
const heightOf = (block: number): number => heights[block] ?? BLOCK_PX;

/** The height of all rows above the first one. */
export const abovePx = (): number => {
  let sum = 0;
  for (let block = 0; block * BLOCK_ROWS < rendered.value.first; block += 1) sum += heightOf(block);
  return sum;
};

/** Another list begins at its top. */
export function resetRows(): void {
  heights = [];
  rendered.value = { first: 0, end: BLOCK_ROWS };
}

export const rowOf = (id: string): HTMLElement | null =>
  document.querySelector(`[data-lead="${CSS.escape(id)}"]`);

/** Moves the focus to the row of a lead, wherever the list is scrolled. */
export function focusRow(id: string): void {
  const index = shownLeads.value.findIndex(({ automation_trigger_id }) => automation_trigger_id === id);
  if (index === -1) return;
  const { first, end } = rendered.value;
  if (index >= first && index < end) {
    rowOf(id)?.focus();
    return;
  }
  const before = Math.max(0, Math.floor(index / BLOCK_ROWS) - 1) * BLOCK_ROWS;
  wantedId = id;
  rendered.value = { first: before, end: before + MAX_ROWS };
}

/** The row that gets the focus when it is rendered. */
let wantedId = '';

/** After the rows were rendered, and before the list reports that it was scrolled, which would remove them again. */
export function focusWanted(): void {
  if (wantedId !== '') rowOf(wantedId)?.focus();
  wantedId = '';
}

/** For leads that are about to be loaded. */
export function addBlock(): void {
  const { first, end } = rendered.value;
  rendered.value = { first, end: end + BLOCK_ROWS };
}

/** Where the rendered rows begin and end, in pixels below the top of what is visible, and the height of that. */
interface Sight {
  readonly topPx: number;
  readonly bottomPx: number;
  readonly heightPx: number;
  /** The height of the first block that is rendered. */
  readonly firstBlockPx: number;
}

/** Adds rows where their end is near, and removes rows at the other end. Returns whether the last row of all is near. */
export function followScroll({ topPx, bottomPx, heightPx, firstBlockPx }: Sight): boolean {
  const { length } = shownLeads.value;
  const before = rendered.value;
  let { first } = before;
  // One block more, for leads that are about to be loaded.
  let end = Math.min(before.end, Math.ceil(length / BLOCK_ROWS + 1) * BLOCK_ROWS);
  const isEndNear = bottomPx < heightPx + NEAR_PX;
  const isComplete = end >= length;
  if (isEndNear) {
    if (!isComplete) end += BLOCK_ROWS;
    if (Math.min(end, length) - first > MAX_ROWS) {
      heights[first / BLOCK_ROWS] = firstBlockPx;
      first += BLOCK_ROWS;
    }
  } else {
    // The scrollbar may have been moved to somewhere far above.
    for (let above = topPx; first > 0 && above > -NEAR_PX; above -= heightOf(first / BLOCK_ROWS))
      first -= BLOCK_ROWS;
    end = Math.min(end, first + MAX_ROWS);
  }
  if (first !== before.first || end !== before.end) rendered.value = { first, end };
  return isEndNear && isComplete;
}
