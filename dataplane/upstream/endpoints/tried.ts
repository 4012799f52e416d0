/** The endpoints that a request has tried, of upstreams with several. */
import type { TargetState } from '../live/target-state.ts'
import type { Endpoint } from './endpoint.ts'

export class TriedEndpoints {
  readonly #tried: { readonly state: TargetState; readonly endpoint: Endpoint | undefined }[] = []

  note(state: TargetState, endpoint: Endpoint | undefined): void {
    this.#tried.push({ state, endpoint })
  }

  of(state: TargetState): readonly (Endpoint | undefined)[] {
    return this.#tried.filter((one) => one.state === state).map(({ endpoint }) => endpoint)
  }

  get count(): number {
    return new Set(this.#tried.map(({ endpoint }) => endpoint)).size
  }
}
