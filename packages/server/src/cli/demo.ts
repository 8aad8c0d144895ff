import type { Command } from 'commander';
import type { CommandContext } from './context.ts';
import type { DemoFlags } from './demo/run.ts';

export function registerDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .summary('try it with a made-up company')
    .description(
      'Serve a throw-away company with users of every access level and plan and a trickle of new leads, and print curl lines that show what each user sees. Nothing of it stays.',
    )
    .option('--host <address>', 'address to listen on (LEADTAP_HOST, default 127.0.0.1)')
    .option(
      '--port <number>',
      'port to listen on (LEADTAP_PORT, default 3000, or any free one when that is taken)',
    )
    .option('--json', 'print the addresses and tokens as JSON')
    .action(async (flags: DemoFlags) => {
      // Loaded when it is needed: the other commands start without an HTTP server.
      const { demo } = await import('./demo/run.ts');
      await demo(context, flags);
    });
}
