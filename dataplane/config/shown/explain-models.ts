/** The facts about the models of a route by which their requests differ. */
import { capabilitiesOf } from '../../providers/facts-of-models.ts'
import type { UpstreamSection } from '../../schema/index.ts'
import { type Fact, WRITTEN_AS } from '../../wire/models/capabilities.ts'

/** One line for each upstream of whose model something is known. */
export function explainModels(
  upstreams: readonly UpstreamSection[],
  names: readonly string[],
): string[] {
  return upstreams.filter(({ name }) => names.includes(name)).flatMap(explainModel)
}

function explainModel(upstream: UpstreamSection): string[] {
  const { name, model, capabilities: written = {} } = upstream
  const { outputTokens, outputMost = outputTokens, ...facts } = capabilitiesOf(upstream)
  const known: Partial<Record<Fact, unknown>> = { ...facts, outputMost }
  const shown = Object.entries(WRITTEN_AS).flatMap(([member, fact]) => {
    const value = known[fact]
    if (value === undefined) return []
    const source = written[member as keyof typeof WRITTEN_AS] === undefined ? '' : ' (written)'
    return [`${member} ${wordsOf(value)}${source}`]
  })
  const wires = written.wires === undefined ? [] : [`wires ${wordsOf(written.wires)} (written)`]
  const all = [...shown, ...wires]
  return all.length === 0 ? [] : [`model ${model} of ${name}: ${all.join('; ')}`]
}

function wordsOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return Array.isArray(value) ? value.join(', ') || 'none' : String(value)
}
