import type { Command } from 'commander';
import type { CommandContext } from './context.ts';
import type { ServeFlags } from './serve/run.ts';

const EXAMPLES = `
The schema is brought up to date first (LEADTAP_AUTO_MIGRATE=false turns that off). Logs are JSON lines on
stdout. SIGTERM or Ctrl+C stops it: requests in hand are finished, for at most 10 seconds. After SIGTERM it
accepts connections for 3 seconds more, so that a load balancer can notice.

Examples:
  leadtap serve
  leadtap serve --host 0.0.0.0 --port 8080
  LEADTAP_BASE_PATH=/api LEADTAP_PUBLIC_URL=https://leads.example.com/api leadtap serve`;

export function registerServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .summary('serve the new leads')
    .description('Serve GET {base_url}/automation/new-leads until told to stop.')
    .option('--host <address>', 'address to listen on (LEADTAP_HOST, default 127.0.0.1)')
    .option('--port <number>', 'port to listen on, 0 for any free one (LEADTAP_PORT, default 3000)')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ServeFlags) => {
      // Loaded when it is needed: the other commands start without an HTTP server.
      const { serve } = await import('./serve/run.ts');
      await serve(context, flags);
    });
}
