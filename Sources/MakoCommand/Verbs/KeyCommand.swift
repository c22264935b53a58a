import ArgumentParser
import MakoStorage

struct KeyCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Encrypts a database, changes its key, or takes the encryption away.",
        discussion: """
            A new key for an encrypted database takes a moment: the data stays as it is. Encrypting, decrypting and --rewrite write the \
            whole file anew, need room for it, and the database for themselves.

              mako key people.mako --new-passphrase-file new.txt
              mako key people.mako --passphrase-file new.txt --new-key-file people.key
              mako key people.mako --key-file people.key --decrypt
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Option(help: "A file with the new key: 32 bytes, or 64 hexadecimal digits.", completion: .file())
    var newKeyFile: String?

    @Option(help: "A file whose first line is the new passphrase.", completion: .file())
    var newPassphraseFile: String?

    @Flag(help: "Take the encryption away.")
    var decrypt = false

    @Flag(help: "Write all data anew under a key of its own: for when the old one may be known to others.")
    var rewrite = false

    func validate() throws {
        if [newKeyFile != nil, newPassphraseFile != nil, decrypt].filter(\.self).count != 1 {
            throw ValidationError("One of --new-key-file, --new-passphrase-file and --decrypt is needed.")
        }
        if decrypt && rewrite { throw ValidationError("--decrypt writes everything anew in any case.") }
    }

    func perform() throws {
        TemporaryFiles.removeAtSignals()
        let new = try KeyOptions.encryption(keyFile: newKeyFile, passphraseFile: newPassphraseFile)
        let database = try DatabaseFile(reading: file, access)
        let wasEncrypted = try database.closing { database.store.isEncrypted }
        if let new, wasEncrypted, !rewrite {
            let database = try DatabaseFile(writing: file, access)
            try database.closing { try database.store.changeKey(to: new) }
            Terminal.write("\(file) opens with its new key from now on\n")
            return
        }
        _ = try access.with { options in try Store.compact(at: file, options: options, encryption: new) }
        Terminal.write("\(file) is \(new == nil ? "not encrypted any more" : "encrypted")\n")
    }
}
