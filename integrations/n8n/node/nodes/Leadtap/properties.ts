import type { INodeProperties } from 'n8n-workflow';

/** The settings of both triggers. */
export const PROPERTIES: INodeProperties[] = [
  {
    displayName: 'Event',
    name: 'event',
    type: 'options',
    noDataExpression: true,
    options: [
      {
        name: 'New Lead',
        value: 'newLead',
        action: 'On new lead',
        description: 'When a lead has arrived',
      },
    ],
    default: 'newLead',
  },
  {
    displayName: 'Start From',
    name: 'startFrom',
    type: 'options',
    noDataExpression: true,
    options: [
      {
        name: 'Now',
        value: 'now',
        description: 'Leads that arrive after the workflow is activated',
      },
      {
        name: 'A Date',
        value: 'date',
        description: 'Leads that arrived after a date as well',
      },
      {
        name: 'Everything',
        value: 'everything',
        description: 'All leads there are, oldest first, then each new one',
      },
    ],
    default: 'now',
    description:
      'Which leads the active workflow gets first. From then on the trigger remembers the last lead; it starts over when you change this.',
  },
  {
    displayName: 'Start Date',
    name: 'startDate',
    type: 'dateTime',
    required: true,
    displayOptions: { show: { startFrom: ['date'] } },
    default: '',
    description: 'In the time zone of the workflow',
  },
  {
    displayName: 'Simplify',
    name: 'simplify',
    type: 'boolean',
    default: true,
    description: 'Whether to return a simplified version of the response instead of the raw data',
  },
];
