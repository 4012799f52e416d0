/** The names of Gemini's models. */

/** The name without a path before it, such as `publishers/google/models/`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1)
}
