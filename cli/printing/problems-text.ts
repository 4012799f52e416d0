/** Problems of a configuration for people, on standard error. */
import { type Problem, renderProblem } from '../../dataplane/config/judgement/problems.ts'
import { paint } from './colours.ts'
import { printRemark } from './output.ts'

export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const { severity } = problem
    const colour = severity === 'error' ? 'red' : 'yellow'
    const word = paint(`${severity}:`, colour, process.stderr)
    printRemark(renderProblem(problem).replace(`${severity}:`, word))
  }
}
