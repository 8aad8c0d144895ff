import type { Spread } from './statistics.ts';

/** How figures are written in tables. Nothing is written for what was not measured. */

export const whole = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : Math.round(value).toLocaleString('en');

export const ratio = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : value.toFixed(value < 10 ? 2 : 1);

export const spreadOf = (value: Spread | undefined): string =>
  value === undefined || Number.isNaN(value.median)
    ? ''
    : `${ratio(value.median)} (${ratio(value.low)}-${ratio(value.high)})`;

export const micros = (value: number | undefined): string =>
  value === undefined ? '' : `${whole(value)} µs`;

export const millis = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : `${value.toFixed(value < 10 ? 2 : 0)} ms`;

export const share = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : `${Math.round(value * 100)} %`;
