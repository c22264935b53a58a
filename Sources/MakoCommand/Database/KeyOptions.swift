import ArgumentParser
import Foundation
import MakoStorage

/// The key of an encrypted database. Never an argument itself, because all users of the machine can read the command
/// line.
struct KeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: "A file with the key of an encrypted database: 32 bytes, or 64 hexadecimal digits.", completion: .file())
    var keyFile: String?

    @Option(
        name: .customLong("passphrase-file"),
        help: "A file whose first line is the passphrase. Else MAKO_PASSPHRASE counts, where there is one.",
        completion: .file())
    var passphraseFile: String?

    func validate() throws {
        if keyFile != nil && passphraseFile != nil {
            throw ValidationError("--key-file and --passphrase-file exclude each other.")
        }
    }

    /// The encryption of the options or the environment; nil: neither has any.
    func encryption() throws -> Encryption? {
        if let given = try Self.encryption(keyFile: keyFile, passphraseFile: passphraseFile) { return given }
        let passphrase = ProcessInfo.processInfo.environment["MAKO_PASSPHRASE"] ?? ""
        return passphrase.isEmpty ? nil : .passphrase(passphrase)
    }

    static func encryption(keyFile: String?, passphraseFile: String?) throws -> Encryption? {
        if let keyFile { return .key(try key(in: keyFile)) }
        guard let passphraseFile else { return nil }
        let line = try read(passphraseFile).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty else { throw Failure("the first line of \(passphraseFile) is empty", .badInput) }
        guard let passphrase = String(validating: line, as: UTF8.self) else {
            throw Failure("the first line of \(passphraseFile) is not UTF-8 text", .badInput)
        }
        return .passphrase(passphrase)
    }

    private static func key(in path: String) throws -> [UInt8] {
        let bytes = try read(path)
        if bytes.count == 32 { return bytes }
        let digits = bytes.filter { !UInt8.isSpace($0) }.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 64, !digits.contains(nil) else {
            throw Failure("\(path) holds no key: a key is 32 bytes, or 64 hexadecimal digits", .badInput)
        }
        let values = digits.compactMap(\.self)
        return stride(from: 0, to: 64, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        let file = try OpenFile(path: path)
        var bytes: [UInt8] = []
        while true {
            let piece = try file.read(upTo: limit)
            if piece.isEmpty { return bytes }
            bytes += piece
            guard bytes.count <= limit else {
                throw Failure("\(path) has more than \(limit) bytes, and no key or passphrase is that long", .badInput)
            }
        }
    }

    private static let limit = 64 << 10

    /// The options that open a database.
    func storeOptions(readOnly: Bool = false) throws -> StoreOptions {
        var options = StoreOptions()
        options.readOnly = readOnly
        options.encryption = try encryption()
        return options
    }

    /// Whether the passphrase comes from the environment, where it may be meant for other databases.
    private var isGeneral: Bool { keyFile == nil && passphraseFile == nil }

    /// Runs a body with the options that open a database. A passphrase in the environment is ignored for a database
    /// that is not encrypted.
    func with<R>(readOnly: Bool = false, _ body: (StoreOptions) throws -> R) throws -> R {
        let options = try storeOptions(readOnly: readOnly)
        do { return try body(options) } catch StorageError.notEncrypted where isGeneral {
            var plain = options
            plain.encryption = nil
            return try body(plain)
        }
    }
}

extension UInt8 {
    fileprivate static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
}
