import type { OtherWayKey, OurWayKey } from './outcomes.ts';
import {
  activepiecesInstant,
  activepiecesLastItem,
  activepiecesPiece,
  activepiecesTimeBased,
} from './platforms/activepieces.ts';
import { client, clientInstant } from './platforms/client.ts';
import { makeApp, makeInstant } from './platforms/make.ts';
import { n8nInstant, n8nLastTwoMinutes, n8nNode, n8nOwnClock } from './platforms/n8n.ts';
import { nodeRedContextInMemory, nodeRedFlow, nodeRedInstant } from './platforms/node-red.ts';
import { pipedreamSource } from './platforms/pipedream.ts';
import {
  powerAutomateConnector,
  powerAutomateFirstElement,
  powerAutomateInstant,
} from './platforms/power-automate.ts';
import { workatoConnector, workatoInstant, workatoWholeSeconds } from './platforms/workato.ts';
import { zapierApp, zapierInstant, zapierNewestPage } from './platforms/zapier.ts';
import type { MakePoller } from './poller.ts';

export const OUR_POLLERS: Readonly<Record<OurWayKey, MakePoller>> = {
  zapierInstant,
  zapierApp,
  makeApp,
  makeInstant,
  n8nNode,
  n8nInstant,
  workatoInstant,
  workatoConnector,
  activepiecesPiece,
  activepiecesInstant,
  pipedreamSource,
  powerAutomateInstant,
  powerAutomateConnector,
  nodeRedFlow,
  nodeRedInstant,
  client,
  clientInstant,
};

export const OTHER_POLLERS: Readonly<Record<OtherWayKey, MakePoller>> = {
  zapierNewestPage,
  n8nOwnClock,
  n8nLastTwoMinutes,
  workatoWholeSeconds,
  activepiecesTimeBased,
  activepiecesLastItem,
  powerAutomateFirstElement,
  nodeRedContextInMemory,
};
