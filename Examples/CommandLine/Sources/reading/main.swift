import Foundation
import ReadingLog

let status = await Reading.run(Array(CommandLine.arguments.dropFirst())) { line, stream in
    let handle = stream == .output ? FileHandle.standardOutput : FileHandle.standardError
    handle.write(Data((line + "\n").utf8))
}
exit(status)
