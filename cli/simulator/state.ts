/** The state that all requests to one simulator share. */
import type { Slots } from './slots.ts'

export interface SimulatorSettings {
  /** The only model served; undefined: every name is accepted. */
  readonly model: string | undefined
  readonly latencyMs: number
  readonly tokensPerSecond: number
  readonly tokens: number | undefined
  readonly errorRate: number
  readonly errorStatus: number
  readonly apiKey: string | undefined
  readonly seed: number
  readonly toolCalls: boolean
}

export interface Counts {
  requests: number
  promptTokens: number
  generatedTokens: number
}

export interface SimulatorState {
  readonly settings: SimulatorSettings
  readonly slots: Slots
  readonly counts: Counts
  /** Chooses the requests that fail. */
  readonly random: () => number
}
