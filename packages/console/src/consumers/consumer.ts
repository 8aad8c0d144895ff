import type { Consumer as WireConsumer } from '@leadtap/contract';

export type Level = WireConsumer['level'];

export type Consumer = WireConsumer & {
  readonly hook: (WireConsumer['hook'] & CarryingHook) | null;
};

interface CarryingHook {
  readonly id?: string;
  readonly send?: string;
  readonly host?: string;
}
