import type { Consumer as RecordedConsumer } from '@leadtap/contract';

export type Level = 'good' | 'warning' | 'error' | 'unknown' | 'inactive';

export interface Summary {
  readonly level: Level;
  readonly message: string;
}

export type Consumer = RecordedConsumer & {
  readonly level: Level;
  readonly problem: string | null;
  readonly message: string;
  readonly fix: string | null;
  readonly hook: (RecordedConsumer['hook'] & CarryingHook) | null;
};

interface CarryingHook {
  readonly id?: string;
  readonly send?: string;
  readonly host?: string;
}
