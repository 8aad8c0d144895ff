import { quoteForShell } from '../../lib/escape.ts';

/** Parameters of the driver that libpq does not know, and the password. */
const REMOVED_PARAMETERS = ['uselibpqcompat', 'password'];

/** The command line that dumps the schema `leadtap` of this database. Without the password. */
export function pgDumpCommand(url: string, target: string): string {
  const address = new URL(url);
  address.password = '';
  for (const name of REMOVED_PARAMETERS) address.searchParams.delete(name);
  return `pg_dump --format=custom --schema=leadtap --file=${quoteForShell(target)} ${quoteForShell(address.href)}`;
}
