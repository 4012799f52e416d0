/** Everything that a client gets for its session, and everything that it shows. */
import type { Task } from './steps.ts'
import type { Workspace } from './workspace.ts'

export interface Stage {
  /** The gateway's address, without a path. */
  readonly url: string
  readonly key: string
  readonly workspace: Workspace
  /** Resolves when the model starts the endless text. */
  endless(): Promise<void>
}

/** The answer to each task as the client showed it, or its error. */
export type Shown = Partial<Record<Task, { readonly text?: string; readonly error?: string }>>
