/** The files of integrations that Connect offers as downloads: paths below `integrations`. */
export const DOWNLOADS = [
  'make/general/base.iml.json',
  'make/connections/leadtap/leadtap.communication.iml.json',
  'make/connections/leadtap/leadtap.params.iml.json',
  'make/webhooks/new-leads/new-leads.communication.iml.json',
  'make/webhooks/new-leads/new-leads.attach.iml.json',
  'make/webhooks/new-leads/new-leads.detach.iml.json',
  'make/modules/watch-lead-events/watch-lead-events.interface.iml.json',
  'make/modules/watch-lead-events/watch-lead-events.samples.iml.json',
  'make/modules/list-leads/list-leads.communication.iml.json',
  'make/modules/list-leads/list-leads.mappable-params.iml.json',
  'make/modules/list-leads/list-leads.interface.iml.json',
  'make/modules/list-leads/list-leads.samples.iml.json',
  'make/modules/watch-new-leads/watch-new-leads.communication.iml.json',
  'make/modules/watch-new-leads/watch-new-leads.epoch.iml.json',
  'make/modules/watch-new-leads/watch-new-leads.static-params.iml.json',
  'make/modules/watch-new-leads/watch-new-leads.interface.iml.json',
  'make/modules/watch-new-leads/watch-new-leads.samples.iml.json',
  'n8n/new-leads-with-http-request.json',
  'node-red/new-leads.flow.json',
  'node-red/new-leads-instant.flow.json',
  'pipedream/new-lead.mjs',
  'power-automate/apiDefinition.swagger.json',
  'workato/connector.rb',
] as const;

/** Packages that Connect offers as archives: folders that are built before the console. */
export const PACKAGES = [
  'packages/client',
  'integrations/n8n/node',
  'integrations/activepieces/piece',
] as const;
