"""Certificates, made with the command line of OpenSSL."""

import os
import shutil
import subprocess


class Authority:
    """Signs certificates; its own is `root`. Files belong to whom the folder belongs to."""

    def __init__(self, folder):
        self.folder = folder
        self.root, self.key = self.files("root")
        self.openssl("req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=root", *self.new_key("root"), "-out", self.root)

    def files(self, name):
        return os.path.join(self.folder, f"{name}.crt"), os.path.join(self.folder, f"{name}.key")

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", self.files(name)[1]]

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    def issue(self, name, common_name):
        """Makes the files NAME.crt and NAME.key, or makes them again; returns their paths."""
        certificate, key = self.files(name)
        request = os.path.join(self.folder, f"{name}.csr")
        self.openssl("req", "-nodes", "-subj", f"/O=Tests/CN={common_name}", *self.new_key(name), "-out", request)
        self.openssl("x509", "-req", "-days", "30", "-in", request, "-CA", self.root, "-CAkey", self.key,
                     "-CAcreateserial", "-out", certificate)
        owner = os.stat(self.folder)
        for path in (certificate, key, self.root):
            shutil.chown(path, owner.st_uid, owner.st_gid)
        os.chmod(key, 0o600)
        return certificate, key
