/** The tools of a request in the form of a runtime. */
import { isRecord, type Json, listOf, recordOf } from '../../../json/values.ts'
import { objectSchema } from '../../schemas.ts'

/** Functions whose parameters have a type and properties; the same list if nothing changes. */
export function withSchemas(tools: unknown): unknown {
  return changed(tools, (tool) => {
    const called = recordOf(tool.function)
    if (called.parameters === undefined) return tool
    const parameters = objectSchema(called.parameters, true)
    return parameters === called.parameters
      ? tool
      : { ...tool, function: { ...called, parameters } }
  })
}

/** The same for a response, whose functions may be in a namespace. */
export function withSchemasOfResponse(tools: unknown): unknown {
  return changed(tools, (tool) => {
    if (tool.type === 'namespace') {
      const inner = withSchemasOfResponse(tool.tools)
      return inner === tool.tools ? tool : { ...tool, tools: inner }
    }
    if (tool.type !== 'function' || !isRecord(tool.parameters)) return tool
    const parameters = objectSchema(tool.parameters, true)
    return parameters === tool.parameters ? tool : { ...tool, parameters }
  })
}

function changed(tools: unknown, change: (tool: Json) => Json): unknown {
  const all = listOf(tools)
  const fresh = all.map((tool) => (isRecord(tool) ? change(tool) : tool))
  return fresh.some((tool, at) => tool !== all[at]) ? fresh : tools
}
