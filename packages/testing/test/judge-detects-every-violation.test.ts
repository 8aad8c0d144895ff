import { describe, expect, it } from 'vitest';
import { isFlawless, judge, type Verdict } from '../delivery-trial/judge/judge.ts';
import { client, history, page, seen, time, write } from '../delivery-trial/judge/made-up-history.ts';

type Category = 'lost' | 'doubled' | 'stale' | 'missing' | 'broken' | 'complaints';

/** Only what was found. */
const found = (verdict: Verdict): Partial<Record<Category, number>> => {
  const categories: Category[] = ['lost', 'doubled', 'stale', 'missing', 'broken', 'complaints'];
  return Object.fromEntries(
    categories.map((name) => [name, verdict[name].length]).filter(([, count]) => count !== 0),
  );
};

const A = write({ id: 'a', version: 'v1', at: 10, begun: 1 });
const B = write({ id: 'b', version: 'v2', at: 20, begun: 3 });
const SEEN_A = seen('a', 'v1', 10);
const SEEN_B = seen('b', 'v2', 20);

describe('an honest history', () => {
  it('is flawless', () => {
    const verdict = judge(
      history(
        [A, B],
        [page({ begun: 5, leads: [SEEN_A, SEEN_B] }), page({ begun: 7, since: 20, date: 15, leads: [] })],
      ),
    );
    expect(found(verdict)).toEqual({});
    expect(isFlawless(verdict)).toBe(true);
  });

  it('may show or leave out what is committed while the poll runs', () => {
    const during = write({ id: 'b', version: 'v2', at: 20, begun: 6, acknowledged: 9 });
    for (const leads of [[SEEN_A], [SEEN_A, SEEN_B]]) {
      const last = page({ begun: 20, since: leads.length * 10, leads: [SEEN_B].slice(leads.length - 1) });
      expect(found(judge(history([A, during], [page({ begun: 5, ended: 8, leads }), last])))).toEqual({});
    }
  });

  it('may show either end of two commits that overlap', () => {
    const deleted = write({ id: 'a', version: null, begun: 10, acknowledged: 14 });
    const again = write({ id: 'a', version: 'v3', at: 30, begun: 12, acknowledged: 15 });
    const pages = [page({ begun: 20, leads: [seen('a', 'v3', 30)] })];
    expect(found(judge(history([A, deleted, again], pages)))).toEqual({});
    const gone = history([A, deleted, again], [page({ begun: 20 })], { stored: [] });
    expect(found(judge(gone))).toEqual({});
  });

  it('may show a lead with its new stamp when one transaction deleted and reinserted it during the poll', () => {
    const again = write({ id: 'a', version: 'v2', at: 2000, begun: 7, isReinserted: true });
    const pages = [page({ begun: 1, ended: 9, date: 1000, leads: [seen('a', 'v2', 2000)] })];
    expect(found(judge(history([A, again], pages)))).toEqual({});
  });

  it('ends a page that is full where the page ends', () => {
    expect(found(judge(history([A, B], [page({ begun: 5, limit: 1, leads: [SEEN_A] })])))).toEqual({
      lost: 1,
    });
    const both = [
      page({ begun: 5, limit: 1, leads: [SEEN_A] }),
      page({ begun: 7, since: 10, limit: 1, leads: [SEEN_B] }),
    ];
    expect(found(judge(history([A, B], both)))).toEqual({});
  });

  it('does not promise history, nor leads that come into sight later', () => {
    const old = write({ id: 'b', version: 'v2', at: -5, begun: 3, isHistorical: true });
    const moved = write({
      id: 'c',
      version: 'v3',
      at: 12,
      begun: 5,
      place: { branchId: 'south', departmentId: null },
    });
    const back = write({ id: 'c', version: 'v4', at: 12, begun: 9 });
    const sales = client('createdAt', 'DEPARTMENT');
    const pages = [
      page({ client: sales, begun: 7, leads: [SEEN_A] }),
      page({ client: sales, begun: 20, since: 15 }),
    ];
    expect(found(judge(history([A, old, moved, back], pages)))).toEqual({});
  });
});

describe('a page that lies', () => {
  it('is missing a lead that was visible before the poll began', () => {
    const pages = [page({ begun: 5, leads: [SEEN_A] }), page({ begun: 7, since: 10, leads: [SEEN_B] })];
    expect(found(judge(history([A, B], pages)))).toEqual({ missing: 1 });
  });

  it('is missing a lead from the newest ones', () => {
    const newest = client('ids');
    const pages = [page({ client: newest, begun: 5, since: null, leads: [SEEN_A] })];
    expect(found(judge(history([A, B], pages)))).toEqual({ missing: 1 });
  });

  it('is missing a lead before the end of a full page', () => {
    const C = write({ id: 'c', version: 'v3', at: 30, begun: 4 });
    const pages = [page({ begun: 6, limit: 2, leads: [SEEN_A, seen('c', 'v3', 30)] })];
    expect(found(judge(history([A, B, C], pages)))).toMatchObject({ missing: 1, lost: 1 });
  });

  it('shows a lead whose deletion was acknowledged', () => {
    const deleted = write({ id: 'a', version: null, begun: 5 });
    expect(found(judge(history([A, deleted], [page({ begun: 8, leads: [SEEN_A] })])))).toEqual({ stale: 1 });
  });

  it('shows the old version of an updated lead', () => {
    const updated = write({ id: 'a', version: 'v9', at: 10, begun: 5 });
    expect(found(judge(history([A, updated], [page({ begun: 8, leads: [SEEN_A] })])))).toEqual({ stale: 1 });
  });

  it('shows a lead that was rolled back, or that is not committed yet', () => {
    expect(found(judge(history([A], [page({ begun: 5, leads: [SEEN_A, SEEN_B] })])))).toEqual({ stale: 1 });
    const late = write({ id: 'b', version: 'v2', at: 20, begun: 30 });
    expect(found(judge(history([A, late], [page({ begun: 5, leads: [SEEN_A, SEEN_B] })])))).toEqual({
      stale: 1,
    });
  });

  it('shows a lead to a user who may not see it, also after it was moved away', () => {
    const away = write({
      id: 'b',
      version: 'v2',
      at: 20,
      begun: 3,
      place: { branchId: 'south', departmentId: null },
    });
    const sales = client('createdAt', 'DEPARTMENT');
    const lie = page({ client: sales, begun: 5, leads: [SEEN_A, SEEN_B] });
    expect(found(judge(history([A, away], [lie])))).toEqual({ stale: 1 });
  });

  it('is out of order, too long, or begins before since', () => {
    for (const lie of [
      page({ begun: 5, leads: [SEEN_B, SEEN_A] }),
      page({ begun: 5, limit: 1, leads: [SEEN_A, SEEN_B] }),
      page({ begun: 5, since: 10, leads: [SEEN_A, SEEN_B] }),
      page({ begun: 5, since: null, client: client('ids'), leads: [SEEN_A, SEEN_B] }),
    ])
      expect(found(judge(history([A, B], [lie])))).toMatchObject({ broken: 1 });
  });
});

describe('a client that is cheated', () => {
  it('never gets a lead that was stamped before what it remembers', () => {
    const late = write({ id: 'b', version: 'v2', at: 5, begun: 7 });
    const pages = [page({ begun: 5, leads: [SEEN_A] }), page({ begun: 10, since: 10 })];
    expect(found(judge(history([A, late], pages)))).toEqual({ lost: 1, broken: 1 });
  });

  it('never gets a lead because its Link came from a clock that was set back', () => {
    const link = client('link');
    const after = write({ id: 'a', version: 'v1', at: -3_600_000, begun: 5 });
    const pages = [page({ client: link, begun: 1, since: null }), page({ client: link, begun: 8, since: 0 })];
    expect(found(judge(history([after], pages, { clockSetBackAt: 3 })))).toEqual({ lost: 1 });
  });

  it('gets a lead twice', () => {
    const pages = [page({ begun: 5, leads: [SEEN_A] }), page({ begun: 7, leads: [SEEN_A] })];
    expect(found(judge(history([A], pages)))).toEqual({ doubled: 1 });
  });

  it('may get it twice if it remembers the Date, and is promised nothing after the clock was set back', () => {
    const date = client('date');
    const pages = [
      page({ client: date, begun: 5, leads: [SEEN_A] }),
      page({ client: date, begun: 7, date: 1000, leads: [SEEN_A] }),
      page({ client: date, begun: 20, since: 1000, date: 1000 }),
    ];
    const late = write({ id: 'b', version: 'v2', at: 20, begun: 12 });
    expect(found(judge(history([A, late], pages, { clockSetBackAt: 10 })))).toEqual({});
    expect(found(judge(history([A, late], pages)))).toEqual({ lost: 1, broken: 1 });
  });
});

describe('a database that lies', () => {
  it('does not hold a lead that was acknowledged', () => {
    expect(found(judge(history([A], [], { stored: [] })))).toEqual({ lost: 1 });
  });

  it('may or may not hold a lead whose outcome is unknown', () => {
    const unknown = write({ id: 'a', version: 'v1', begun: 1, acknowledged: undefined });
    const held = { companyId: 'acme', id: 'a', version: 'v1', createdAt: time(10) };
    for (const stored of [[], [held]]) expect(found(judge(history([unknown], [], { stored })))).toEqual({});
  });

  it('must not bring it back once it is settled and another write was acknowledged', () => {
    const unknown = write({ id: 'a', version: 'v1', at: 10, begun: 1, acknowledged: undefined, settled: 3 });
    const later = write({ id: 'a', version: 'v2', at: 10, begun: 5 });
    const pages = [page({ begun: 9, leads: [SEEN_A] })];
    expect(found(judge(history([unknown, later], pages)))).toEqual({ stale: 1 });
  });

  it('holds what was never committed, or an old version', () => {
    const strange = { companyId: 'acme', id: 'z', version: 'v7', createdAt: time(1) };
    const old = { companyId: 'acme', id: 'a', version: 'v0', createdAt: time(10) };
    expect(found(judge(history([A], [], { stored: [strange, old] })))).toEqual({ stale: 2 });
  });
});

describe('the promises D1 to D5', () => {
  const judged = (...[writes, pages]: Parameters<typeof history>) => judge(history(writes, pages)).broken;

  it('D1: two leads with the same createdAt', () => {
    const twin = write({ id: 'b', version: 'v2', at: 10, begun: 2, acknowledged: 3 });
    const pages = [page({ begun: 5, leads: [SEEN_A] }), page({ begun: 7, leads: [seen('b', 'v2', 10)] })];
    expect(judged([A, twin], pages)).toContainEqual(expect.stringMatching(/^D1: /));
  });

  it('D2: a lead that was visible first has the later createdAt', () => {
    const early = write({ id: 'b', version: 'v2', at: 9, begun: 3 });
    expect(judged([A, early], [])).toEqual([expect.stringMatching(/^D2: acme\/b /)]);
    const overlapping = write({ id: 'b', version: 'v2', at: 9, begun: 1 });
    expect(judged([A, overlapping], [])).toEqual([]);
  });

  it('D3: a lead comes later with a createdAt up to the Date', () => {
    const late = write({ id: 'b', version: 'v2', at: 20, begun: 9 });
    const lie = [
      page({ begun: 5, date: 1000, leads: [SEEN_A] }),
      page({ begun: 12, since: 10, leads: [SEEN_B] }),
    ];
    expect(judged([A, late], lie)).toEqual([expect.stringMatching(/^D3: /)]);
    const deleted = write({ id: 'b', version: null, begun: 2 });
    const again = write({ id: 'b', version: 'v2', at: 20, begun: 9, isReinserted: true });
    expect(judged([A, deleted, again], lie)).toEqual([expect.stringMatching(/^D3: /)]);
  });

  it('D4: what identifies a lead changes', () => {
    const pages = [
      page({ begun: 5, leads: [SEEN_A] }),
      page({ begun: 7, leads: [{ ...SEEN_A, automationCreatedAt: 'another time' }] }),
    ];
    expect(judged([A], pages)).toEqual([expect.stringMatching(/^D4: /)]);
  });

  it('D5: the same id again is another lead, although the first was not deleted', () => {
    const again = write({ id: 'a', version: 'v5', at: 30, begun: 5 });
    expect(judged([A, again], [])).toEqual([expect.stringMatching(/^D5: /)]);
    const deleted = write({ id: 'a', version: null, begun: 3 });
    expect(judged([A, deleted, again], [])).toEqual([]);
  });
});
