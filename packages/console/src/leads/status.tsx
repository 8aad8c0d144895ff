import type { Lead } from '@leadtap/client';
import type { JSX } from 'preact';
import { visible } from '../text.tsx';

/** The colour always with its label. */
export const Status = ({ status }: Pick<Lead, 'status'>): JSX.Element => (
  <span class="status">
    <span
      class={status.final ? 'dot final' : 'dot'}
      style={{ '--status': status.color }}
      aria-hidden="true"
    />
    <bdi>{visible(status.label)}</bdi>
  </span>
);
