/** The finding of a check of `gw doctor`. */

export type Result = 'ok' | 'warning' | 'failed'

export interface Check {
  readonly check: string
  /** The thing that was checked: a name, an address. */
  readonly subject: string
  readonly result: Result
  readonly detail: string
  readonly fix?: string
}

export function found(check: string, subject: string) {
  return {
    ok: (detail: string): Check => ({ check, subject, result: 'ok', detail }),
    warning: (detail: string, fix: string): Check => ({
      ...{ check, subject, result: 'warning', detail, fix },
    }),
    failed: (detail: string, fix: string): Check => ({
      ...{ check, subject, result: 'failed', detail, fix },
    }),
  }
}
