/** Looks up what is known of an upstream's model: the one place that reads the tables of models. */
import type { Capabilities, ModelRow, WrittenCapabilities } from '../wire/models/capabilities.ts'
import type { Encoding } from '../wire/models/encodings.ts'
import { PROVIDER_FACTS, type ProviderName } from './index.ts'

interface Named {
  readonly provider: ProviderName
  readonly model: string
  readonly capabilities?: WrittenCapabilities | undefined
}

const DATED = /-(?:latest|\d{4}-\d{2}-\d{2}|20\d{6})$/
/** The models of all makers together: one hosted API may serve those of another. */
const ROWS_OF_ALL: readonly ModelRow[] = Object.values(PROVIDER_FACTS).flatMap(
  ({ models = [] }) => models,
)

/** The written facts, else those of the tables. */
export function capabilitiesOf(upstream: Named): Capabilities {
  return Object.freeze({ ...knownOf(upstream), ...writtenIn(upstream.capabilities) })
}

/** A written limit is that of the model, and of each request. An API that is not written is not asked. */
function writtenIn(written: WrittenCapabilities = {}): Capabilities {
  const { reasoning, efforts, thinking, thinking_tokens, thinking_member, wires } = written
  const { output_tokens, tool_name_length, call_id_length } = written
  return {
    ...(reasoning !== undefined && { reasons: reasoning }),
    ...(efforts !== undefined && { efforts }),
    ...(thinking !== undefined && { thinking }),
    ...(thinking_tokens !== undefined && { thinkingTokens: thinking_tokens }),
    ...(thinking_member !== undefined && { thinkingMember: thinking_member }),
    ...(output_tokens !== undefined && { outputTokens: output_tokens, outputMost: output_tokens }),
    ...(tool_name_length !== undefined && { nameMax: tool_name_length }),
    ...(call_id_length !== undefined && { idMax: call_id_length }),
    ...(wires?.includes('chat') === false && { responses: 'always' }),
    ...(wires?.includes('responses') === false && { responses: 'never' }),
  }
}

/** Each fact of the first row of its provider that has it; windows and encodings also of other makers' rows. */
function knownOf({ provider, model }: Named): Capabilities {
  const { hosted, models = [] } = PROVIDER_FACTS[provider]
  const name = nameOf({ provider, model })
  const own = factsIn(models, name, model)
  if (!hosted) return own
  const { contextWindow, encoding } = factsIn(ROWS_OF_ALL, name, model)
  return {
    ...(contextWindow !== undefined && { contextWindow }),
    ...(encoding !== undefined && { encoding }),
    ...own,
  }
}

/** The configured window, else that of the hosted model. Runtimes are asked: they may serve less than a model can. */
export function knownWindow(
  upstream: Named & { readonly context_window?: number | undefined },
): number | undefined {
  return upstream.context_window ?? knownOf(upstream).contextWindow
}

/** undefined for runtimes: their models bring their own tokenizers. */
export function encodingOfModel(upstream: Named): Encoding | undefined {
  return knownOf(upstream).encoding
}

/** The name without a date, as the provider's rows have it. */
function nameOf({ provider, model }: Named): string {
  const { modelName } = PROVIDER_FACTS[provider]
  return (modelName?.(model) ?? model).replace(DATED, '')
}

/** A part of the id that the name leaves out makes the difference between some rows. */
function factsIn(rows: readonly ModelRow[], name: string, id: string): Capabilities {
  const found = rows.filter(({ of }) => of.test(name) || of.test(id)).toReversed()
  return Object.assign(
    {},
    ...found.map(({ of: _of, checked: _day, source: _source, ...facts }) => facts),
  )
}
