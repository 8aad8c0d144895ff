/** Long lists in pages, so that any number of rows fits into memory. */
import { takeTurn } from './event-loop.ts';

/**
 * Reads page by page; each begins after the last item of the one before. SQLite reads synchronously: other requests are answered
 * between two pages, by turns of the company or user that is given.
 */
export async function* pagesOf<Item>(
  size: number,
  read: (last: Item | undefined, size: number) => Promise<readonly Item[]>,
  turnOf?: string,
): AsyncGenerator<readonly Item[]> {
  let page: readonly Item[] = [];
  do {
    page = await read(page.at(-1), size);
    yield page;
    await takeTurn(turnOf);
  } while (page.length === size);
}
