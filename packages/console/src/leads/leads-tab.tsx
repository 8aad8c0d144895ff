import type { JSX } from 'preact';
import { leads } from '../feed.ts';
import { session } from '../session.ts';
import { Time } from '../time.tsx';
import { TokenForm } from '../token-form.tsx';

export function LeadsTab(): JSX.Element {
  if (!session.value) return <TokenForm />;
  return (
    <ul class="leads">
      {leads.value.map((lead) => (
        <li key={lead.automation_trigger_id}>
          {lead.fullName} <Time at={lead.createdAt} form="age" />
        </li>
      ))}
    </ul>
  );
}
