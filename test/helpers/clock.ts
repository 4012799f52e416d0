/** A clock that tests turn. */
import type { Clock } from '../../dataplane/base/clock.ts'

export const NOON = Date.parse('2026-11-21T12:00:00Z')

export interface TurnedClock extends Clock {
  /** Moves both clocks on. */
  pass(ms: number): void
  /** Moves only the wall clock, like an operator or NTP. */
  setWall(ms: number): void
}

export function aClock(wall = NOON, now = 1_000): TurnedClock {
  return {
    now: () => now,
    wall: () => wall,
    pass(ms) {
      now += ms
      wall += ms
    },
    setWall(ms) {
      wall = ms
    },
  }
}
