import ArgumentParser
import Foundation
import MakoStorage

struct LogCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Shows the log beside a file: its segments, and the commits in them.",
        discussion: """
            Works on damaged logs, and on such that another process is writing. A database that was closed has none.

              mako log people.mako
              mako log people.mako --operations
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Flag(help: "Show what each commit does.")
    var operations = false

    func perform() throws {
        var segments = 0
        var frames = 0
        try LogInspection.log(
            of: file, encryption: access.encryption(), operations: operations,
            segment: { segment in
                segments += 1
                Terminal.write(line(segment))
            },
            frame: { frame in
                frames += 1
                Terminal.write(lines(frame))
            })
        if segments == 0 {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory) else {
                throw Failure("there is no file \(file), nor a log of it", .noInput)
            }
            if isDirectory.boolValue { throw Failure("\(file) is a directory", .noInput) }
        }
        Terminal.write(
            "\(DisplayText.count(segments, "segment")), \(DisplayText.count(frames, "frame"))\n")
    }

    private func line(_ segment: SegmentDescription) -> String {
        let size = DisplayText.bytes(Int(clamping: segment.fileBytes))
        guard let header = segment.header else { return "\(segment.path), \(size), without a segment's beginning\n" }
        return "\(segment.path), \(size), goes on from \(header.previousEnd)\n"
    }

    private func lines(_ frame: FrameDescription) -> String {
        var text = frame.gap > 0 ? "  \(DisplayText.bytes(frame.gap)) that hold no frame\n" : ""
        let kind = frame.kind == .barrier ? "commit \(frame.commit), by checkpoint" : "commit \(frame.commit)"
        text += "  \(frame.lsn)  \(kind)  \(DisplayText.bytes(frame.rawBytes))"
        if frame.isCompressed { text += " in \(DisplayText.bytes(frame.storedBytes))" }
        text += "  durable to \(frame.durable)"
        text += frame.isWhole ? "\n" : "  torn, or not of this log\n"
        guard operations, frame.isWhole, frame.kind == .commit else { return text }
        guard let list = frame.operations else { return text + "    operations that cannot be read\n" }
        for operation in list { text += "    \(line(operation))\n" }
        return text
    }

    /// A range of byte keys excludes its upper bound.
    private func ellipsis(_ operation: FrameDescription.Operation) -> String {
        if case .bytes = operation.key, operation.last != nil { "..<" } else { "..." }
    }

    private func line(_ operation: FrameDescription.Operation) -> String {
        let key = operation.key.map { InspectionText.key($0) } ?? ""
        return switch operation.kind {
        case .put: "put \(key) in tree \(operation.tree), \(DisplayText.count(operation.valueBytes, "byte"))"
        case .named:
            "put \(key) in tree \(operation.tree), \(DisplayText.count(operation.valueBytes, "byte")) on pages of its own"
        case .delete: "delete \(key) in tree \(operation.tree)"
        case .createTree: "create tree \(operation.tree), '\(operation.name ?? "")'"
        case .renameTree: "rename tree \(operation.tree), '\(operation.name ?? "")'"
        case .dropTree: "drop tree \(operation.tree)"
        case .deleteRange:
            "delete \(key)\(ellipsis(operation))\(operation.last.map { InspectionText.key($0) } ?? "") in tree \(operation.tree)"
        case .deleteAll: "delete everything in tree \(operation.tree)"
        }
    }
}
