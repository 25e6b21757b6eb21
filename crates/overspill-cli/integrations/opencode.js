// Bounds what opencode's tools return. Made by `overspill hook opencode --plugin`; it belongs into `.opencode/plugins/`.
//
// The work is done by `overspill hook opencode`, which gets a result on stdin and answers with what is to stand in its place.
// On any trouble the result stays as it was.

import { spawn } from "node:child_process"

const PROGRAM = "overspill"
const PATIENCE_MS = 20000

function ask(request, cwd) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, ["hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const chunks = []
    const patience = setTimeout(() => child.kill(), PATIENCE_MS)
    const end = (answer) => {
      clearTimeout(patience)
      resolve(answer)
    }
    child.on("error", () => end(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.on("close", (code) => end(code === 0 ? Buffer.concat(chunks).toString("utf8") : ""))
    child.stdin.end(request)
  })
}

export const Overspill = async ({ directory }) => ({
  "tool.execute.after": async (input, output) => {
    try {
      const answer = await ask(JSON.stringify({ tool: input.tool, args: input.args, output }), directory)
      if (!answer.trim()) return
      const { output: text, content } = JSON.parse(answer)
      if (typeof text === "string") output.output = text
      if (Array.isArray(content)) output.content = content
    } catch {
      // The result stays as it was.
    }
  },
})
