import type { JSX } from 'preact';
import { leads } from '../feed.ts';
import { Row } from '../leads/list.tsx';
import { hrefOf } from '../router.ts';

const SHOWN = 5;

/** As they arrive. */
export const NewestLeads = (): JSX.Element => (
  <section class="newest" aria-labelledby="newest">
    <div class="section-head">
      <h2 id="newest">Newest leads</h2>
      {leads.value.length > 0 && <a href={hrefOf('leads')}>All leads</a>}
    </div>
    {leads.value.length === 0 ? (
      <p class="soft">No leads yet. They appear here by themselves.</p>
    ) : (
      <ul class="rows">
        {leads.value.slice(0, SHOWN).map((lead) => (
          <Row key={lead.automation_trigger_id} lead={lead} />
        ))}
      </ul>
    )}
  </section>
);
