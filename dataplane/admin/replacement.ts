/** PUT /config of the admin API: activates a document, or only a small change, or reports what would change. */
import { join } from 'node:path'
import { loadConfigurationApart } from '../config/apart/load-apart.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import { renderProblem } from '../config/judgement/problems.ts'
import { type Difference, differencesBetween, type Side } from '../config/shown/differences.ts'
import { effectiveSection } from '../config/shown/effective.ts'
import { shownText } from '../config/shown/masking.ts'
import { compile } from '../config/snapshot.ts'
import type { Activation } from '../gateway/activation.ts'

/** As the admin API answers. */
interface ReplacementAnswer {
  readonly status: number
  readonly body: unknown
}

export async function replaceConfiguration(
  body: string,
  { only, dry_run }: Readonly<Record<string, string>>,
  activation: Activation,
): Promise<ReplacementAnswer> {
  const isRehearsal = dry_run === 'true'
  if (activation.isReadOnly && !isRehearsal) {
    return failure(
      405,
      'In a pod the admin API is read-only; change the GatewayConfig with kubectl apply or gw apply.',
    )
  }
  if (only !== undefined && only !== 'limits') {
    return failure(400, `There is no "only=${only.slice(0, 100)}"; use only=limits.`)
  }
  // The name places it next to the file of the start, so that relative paths mean the same.
  const file = join(activation.folder, 'PUT config')
  const fresh = await loadConfigurationApart(body, file, process.env)
  const differences = differencesOf(activation.loaded, fresh)
  const foreign = only === undefined ? [] : differences.filter(({ reloadable }) => !reloadable)
  if (foreign.length > 0) {
    const message =
      'More than rate limits, budgets, pricing and keys would change; nothing was changed.'
    return failure(409, message, { differences: foreign })
  }
  if (isRehearsal) return rehearsed(fresh, differences)
  const taken = activation.replace(() => fresh)
  const { last } = activation
  if (!taken) return refused(last.errors)
  const problems = fresh.problems.map(renderProblem)
  return {
    status: 200,
    body: { result: 'success', at: last.at, file: activation.file, differences, problems },
  }
}

function rehearsed(fresh: Loaded, differences: readonly Difference[]): ReplacementAnswer {
  const problems = fresh.problems.map(renderProblem)
  if (fresh.configuration === undefined) return refused(problems)
  try {
    compile(fresh.configuration, fresh.delivered)
  } catch (error) {
    return refused([error instanceof Error ? error.message : String(error)])
  }
  return { status: 200, body: { result: 'dry run', differences, problems } }
}

/** Empty if the new document is refused anyway. */
function differencesOf(old: Loaded, fresh: Loaded): Difference[] {
  if (old.configuration === undefined || fresh.configuration === undefined) return []
  return differencesBetween(sideOf(old), sideOf(fresh))
}

/** A gateway outside a cluster ignores members next to `gw`; a written default is not a change. */
function sideOf({ configuration, referenceAt }: Loaded): Side {
  return {
    tree: { gw: configuration && effectiveSection(configuration.gw, 'file') },
    shown: (value, path) => shownText(value, path, referenceAt(path)),
  }
}

function refused(problems: readonly string[]): ReplacementAnswer {
  return failure(422, 'The configuration was refused.', { problems })
}

function failure(status: number, message: string, facts: object = {}): ReplacementAnswer {
  return { status, body: { error: { message, ...facts } } }
}
