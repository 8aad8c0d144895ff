export type PollerKey = string;
export type ScenarioKey = string;
