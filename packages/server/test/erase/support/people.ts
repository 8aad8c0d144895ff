import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LeadInput, Store } from 'leadtap';

/** A person whose every value contains a text that occurs nowhere else. */
export interface Person {
  readonly mark: string;
  readonly email: string;
  readonly lead: LeadInput;
}

const COMPANIES = ['acme', 'globex'];

export function makePerson(index: number): Person {
  const mark = `P${randomBytes(6).toString('hex')}`;
  const email = `${mark}@mail.example`;
  const lead = {
    companyId: COMPANIES[index % COMPANIES.length] ?? '',
    id: `${mark}-id`,
    fields: {
      firstName: `${mark} first`,
      lastName: `${mark} last`,
      fullName: `${mark} full`,
      phone1: `${mark} phone`,
      email,
      address: `${mark} address ${'x'.repeat((index * 37) % 200)}`,
      addressNotes: `${mark} notes`,
      // Some are so long that the database keeps them apart from the row.
      customFields: { note: `${mark} custom ${'y'.repeat(index % 40 === 0 ? 9000 : (index * 53) % 300)}` },
      images: [`https://images.example/${mark}.jpg`],
    },
  };
  return { mark, email, lead };
}

/** Writes people in small batches and changes a third of them later, so that older versions of rows are in the files. */
export async function writePeople(store: Store, count: number): Promise<Person[]> {
  const people = Array.from({ length: count }, (_, index) => makePerson(index));
  for (let start = 0; start < count; start += 50) {
    await store.writeLeads(people.slice(start, start + 50).map(({ lead }) => lead));
    const changed = people.slice(0, start + 50).filter((_, index) => (index * 7 + start) % 9 === 0);
    await store.writeLeads(
      changed.map(({ mark, lead }) => ({
        ...lead,
        fields: { address: `${mark} moved ${'z'.repeat((start * 13) % 500)}` },
      })),
    );
  }
  return people;
}

/** Every file below a folder that contains one of the marks. */
export function findMarks(folder: string, marks: readonly string[]): string[] {
  const found: string[] = [];
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    // Files of a server that runs may be deleted meanwhile; sockets cannot be read.
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory()) found.push(...findMarks(path, marks));
    else if (stats?.isFile() && stats.size > 0) {
      const content = readFileSync(path, 'latin1');
      if (marks.some((mark) => content.includes(mark))) found.push(path);
    }
  }
  return found;
}
