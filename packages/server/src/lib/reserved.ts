/** Names a limited resource, and reads how much of it requests have reserved now: 0 while nothing is under way. */
export type WatchReserved = (resource: string, read: () => number) => void;
