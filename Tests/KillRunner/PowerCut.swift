import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file system of its own on a loop device, which can be stopped as by a power cut: what is not on the device by then
/// is lost. Needs Linux, root and a kernel that allows it.
struct PowerCut {
    struct NotPermitted: Error, CustomStringConvertible {
        var description: String
    }

    let folder: String
    private let image: String
    private let device: String
    let mountPoint: String

    init(in folder: String) throws {
        #if os(Linux)
            self.folder = folder
            image = folder + "/disk"
            mountPoint = folder + "/mounted"
            guard geteuid() == 0 else { throw NotPermitted(description: "a loop device needs root") }
            try FileManager.default.createDirectory(atPath: mountPoint, withIntermediateDirectories: true)
            guard FileManager.default.createFile(atPath: image, contents: nil), truncate(image, 256 << 20) == 0 else {
                throw NotPermitted(description: "there is no room for a disk of 256 MB in \(folder)")
            }
            try PowerCut.run("mkfs.ext4", "-q", "-F", image)
            device = try PowerCut.run("losetup", "-f", "--show", image)
            do { try mount() } catch {
                _ = try? PowerCut.run("losetup", "-d", device)
                throw error
            }
        #else
            throw NotPermitted(description: "only Linux has what this needs")
        #endif
    }

    func mount() throws { try PowerCut.run("mount", device, mountPoint) }

    func unmount() throws { try PowerCut.run("umount", mountPoint) }

    func remove() {
        _ = try? unmount()
        _ = try? PowerCut.run("losetup", "-d", device)
    }

    /// Stops the file system at once, without a last write of its journal.
    func cut() throws {
        #if os(Linux)
            let descriptor = open(mountPoint, O_RDONLY)
            defer { close(descriptor) }
            // _IOR('X', 125, __u32) with EXT4_GOING_FLAGS_NOLOGFLUSH.
            var flags: UInt32 = 2
            guard descriptor >= 0, ioctl(descriptor, 0x8004_587d, &flags) == 0 else {
                throw NotPermitted(
                    description: "the file system cannot be stopped: \(String(cString: strerror(errno)))")
            }
        #endif
    }

    @discardableResult
    private static func run(_ words: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw NotPermitted(description: "\(words.joined(separator: " ")): \(complaint.prefix { $0 != "\n" })")
        }
        return String(text.prefix { $0 != "\n" })
    }
}
