import type { NetworkFault, TcpProxy } from '../../servers/tcp-proxy.ts';
import type { Actor } from '../actor.ts';
import type { Random } from '../random.ts';

/** A connection of an instance that goes through a proxy. */
export interface NetworkLink {
  readonly to: 'clients' | 'database' | 'Redis';
  readonly proxy: TcpProxy;
}

const KINDS = ['delay', 'cut', 'half-open', 'slow bytes', 'reset'] as const;
type Kind = (typeof KINDS)[number];

/** As the recorder counts them. */
export const isNetworkFault = (name: string): boolean => name.startsWith('network: ');

function makeFault(kind: Kind, random: Random): NetworkFault {
  switch (kind) {
    case 'delay':
      return { kind, ms: 10 + random.below(400) };
    case 'slow bytes':
      return { kind, bytes: 1 + random.below(200), pauseMs: 1 + random.below(10) };
    case 'half-open':
      return { kind };
    case 'cut':
    case 'reset':
      // At once, within the headers of a response, within its body.
      return { kind, afterBytes: random.pick(0, random.below(300), random.below(20_000)) };
  }
}

export interface NetworkFaultsOptions {
  readonly links: readonly NetworkLink[];
  readonly maxFaultMs: number;
  /** Each kind once between instances and clients, database and Redis, however long that takes. Then kinds at random. */
  readonly isThorough?: boolean;
}

/** Causes one fault after the other, each for a while: of one instance, or sometimes of all. */
export const networkFaults = ({ links, maxFaultMs, isThorough = true }: NetworkFaultsOptions): Actor => ({
  name: 'network faults',
  run: async ({ recorder, random, goesOn, pause }) => {
    const targets = [...new Set(links.map(({ to }) => to))];
    const all = targets.flatMap((to) => KINDS.map((kind) => ({ to, kind })));
    const first = isThorough ? shuffle(all, random) : [];
    for (let done = 0; done < first.length || goesOn(done); done += 1) {
      const choice = first[done] ?? all[random.below(all.length)];
      if (!choice) return;
      const { to, kind } = choice;
      const matching = links.filter((link) => link.to === to);
      const isEverywhere = random.chance(20);
      const only = random.below(matching.length);
      const affected = matching.filter((_, index) => isEverywhere || index === only);
      for (const { proxy } of affected) proxy.begin(makeFault(kind, random));
      await pause(maxFaultMs / 10 + random.below(0.9 * maxFaultMs));
      for (const { proxy } of affected) {
        proxy.recover();
        // Clients without a timeout find out nothing themselves.
        if (to === 'clients') proxy.resetUseless();
      }
      recorder.count(`network: ${kind}, ${to}`);
      recorder.announce();
      await pause(random.below(maxFaultMs / 2));
    }
  },
});

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const shuffled = [...items];
  for (let left = shuffled.length; left > 1; left -= 1) {
    const [picked] = shuffled.splice(random.below(left), 1);
    if (picked !== undefined) shuffled.push(picked);
  }
  return shuffled;
}
