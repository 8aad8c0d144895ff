import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { installPackage } from './debian.ts';

export interface Program {
  /** For people: `PostgreSQL`. */
  readonly name: string;
  /** What Debian's package is called, and what Homebrew's is. */
  readonly debian: string;
  readonly homebrew: string;
  /** The variable that names a server which runs already. */
  readonly variable?: string;
  /** The file's path, or undefined where it is not installed. */
  find(): string | undefined;
}

/** Where the program is, if need be after its installation. */
export function findProgram(program: Program, install = installPackage): string {
  const found = program.find();
  if (found !== undefined) return found;
  if (install(program.debian)) {
    const installed = program.find();
    if (installed !== undefined) return installed;
  }
  const command =
    process.platform === 'darwin' ? `brew install ${program.homebrew}` : `apt-get install ${program.debian}`;
  const variable = program.variable ? `, or set ${program.variable} to the address of one` : '';
  throw new Error(`these tests need ${program.name}, which was not found. Run: ${command}${variable}`);
}

/** Debian keeps servers where only root's PATH leads. */
const pathFolders = (): string[] => [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];

export const findOnPath = (...names: readonly string[]): string | undefined =>
  names.flatMap((name) => pathFolders().map((folder) => join(folder, name))).find(isExecutable);

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
