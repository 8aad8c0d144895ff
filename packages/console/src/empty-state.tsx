import type { ComponentChildren, JSX } from 'preact';

/** The drop of the brand, at its size of 24 pixels. */
export const DROP = 'M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z';

/** A key, a tap above an empty list, a lock: each with the drop. */
const DRAWINGS = {
  'no-token': (
    <>
      <path d="M40 32h54v16h-7v-8h-6v5h-7v-5H40z" />
      <circle cx="22" cy="36" r="21" />
      <path class="drop" d={DROP} transform="translate(10 24)" />
    </>
  ),
  'no-leads': (
    <>
      <path d="M17 9h34a16 16 0 0 1 16 16v5H52v-4a3 3 0 0 0-3-3H17z" />
      <path class="line" d="M17 4v24M39 9V2m-9 0h18" />
      <path class="drop" d={DROP} transform="matrix(.6 0 0 .6 52.3 33)" />
      <path class="empty-rows" d="M8 56h80M8 63h80M8 70h80" />
    </>
  ),
  refused: (
    <>
      <path class="line" d="M13 32V18a14 14 0 0 1 28 0v14" />
      <rect x="1" y="32" width="52" height="39" rx="7" />
      <path class="drop" d={DROP} transform="translate(15 39)" />
    </>
  ),
} as const;

interface EmptyStateProps {
  readonly drawing: keyof typeof DRAWINGS;
  /** A heading first, then what the visitor can do. */
  readonly children: ComponentChildren;
}

/** What a page shows when it has nothing to show: a drawing, why, and the next step. */
export const EmptyState = ({ drawing, children }: EmptyStateProps): JSX.Element => (
  <div class={`empty-state ${drawing}`}>
    <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true">
      {DRAWINGS[drawing]}
    </svg>
    {children}
  </div>
);
